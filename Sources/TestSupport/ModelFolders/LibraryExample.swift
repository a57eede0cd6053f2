// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The full example of `xcdatamodel-format`: inheritance, renames, encryption, composites in composites, a derived
/// count, a fetched property, a fetch request with a variable, configurations.
package let libraryExample = #"""
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23B92" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="library-2">
        <entity name="Asset" representedClassName="Asset" isAbstract="YES" syncable="YES" codeGenerationType="class">
            <attribute name="createdAt" attributeType="Date" defaultDateTimeInterval="0" usesScalarValueType="NO"/>
            <attribute name="identifier" optional="YES" attributeType="UUID" usesScalarValueType="NO" preserveAfterDeletion="YES"/>
            <fetchIndex name="byIdentifier">
                <fetchIndexElement property="identifier" type="Binary" order="ascending"/>
            </fetchIndex>
        </entity>
        <entity name="Book" representedClassName="Book" parentEntity="Asset" elementID="Publication" syncable="YES" codeGenerationType="class">
            <attribute name="cover" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            <attribute name="isRead" attributeType="Boolean" defaultValueString="NO" usesScalarValueType="YES"/>
            <attribute name="pages" attributeType="Integer 32" minValueString="1" maxValueString="9999" defaultValueString="1" usesScalarValueType="YES"/>
            <attribute name="palette" optional="YES" attributeType="Transformable" valueTransformerName="NSSecureUnarchiveFromData" customClassName="[String]"/>
            <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="0.0"/>
            <attribute name="searchTitle" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
            <attribute name="secretNote" optional="YES" attributeType="String" allowsCloudEncryption="YES"/>
            <attribute name="tagCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="tags.@count" usesScalarValueType="YES"/>
            <attribute name="title" attributeType="String" minValueString="1" maxValueString="200" defaultValueString="" elementID="headline"/>
            <attribute name="viewportState" optional="YES" transient="YES" attributeType="String"/>
            <attribute name="website" optional="YES" attributeType="URI"/>
            <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person" inverseName="books" inverseEntity="Person"/>
            <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Tag" inverseName="books" inverseEntity="Tag"/>
            <fetchedProperty name="sameAuthor" optional="YES">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="Book" predicateString="author == $FETCH_SOURCE.author"/>
            </fetchedProperty>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="identifier"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
            <userInfo>
                <entry key="jsonKey" value="book"/>
            </userInfo>
        </entity>
        <entity name="Person" representedClassName="Person" syncable="YES" codeGenerationType="category">
            <attribute name="home" optional="YES" attributeType="Composite" composite="Address"/>
            <attribute name="name" optional="YES" attributeType="String" spotlightIndexingEnabled="YES"/>
            <relationship name="books" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
        </entity>
        <entity name="Tag" representedClassName=".Tag" syncable="YES" versionHashModifier="1">
            <attribute name="label" optional="YES" attributeType="String"/>
            <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" inverseName="tags" inverseEntity="Book"/>
        </entity>
        <fetchRequest name="UnreadBooks" entity="Book" predicateString="isRead == NO AND title CONTAINS[cd] $needle"/>
        <configuration name="Cloud" usedWithCloudKit="YES">
            <memberEntity name="Book"/>
            <memberEntity name="Person"/>
            <memberEntity name="Tag"/>
        </configuration>
        <configuration name="Local">
            <memberEntity name="Asset"/>
        </configuration>
        <composite name="Address">
            <attribute name="city" optional="YES" attributeType="String"/>
            <attribute name="position" optional="YES" attributeType="Composite" composite="Point"/>
        </composite>
        <composite name="Point">
            <attribute name="latitude" attributeType="Double" defaultValueString="0.0" usesScalarValueType="YES"/>
            <attribute name="longitude" attributeType="Double" defaultValueString="0.0" usesScalarValueType="YES"/>
        </composite>
        <elements>
            <element name="Book" positionX="0" positionY="0" width="128" height="210"/>
        </elements>
    </model>
    """#
